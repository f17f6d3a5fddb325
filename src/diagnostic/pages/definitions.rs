pages! { TABLE;
    BAD_DEFINITION = "KB0201", "not a valid definition",
        "To be written.";
}
