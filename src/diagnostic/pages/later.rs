pages! { TABLE;
    NOT_YET = "KB0901", "known, not built yet",
        "To be written.";
}
