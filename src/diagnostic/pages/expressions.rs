pages! { TABLE;
    BAD_EXPRESSION = "KB0301", "not a valid expression",
        "To be written.";
}
