pages! { TABLE;
    ATTEMPT_FAILED = "KB0501", "an attempt failed",
        "To be written.";
}
