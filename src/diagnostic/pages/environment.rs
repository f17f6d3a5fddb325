pages! { TABLE;
    JOURNAL_UNUSABLE = "KB0801", "the journal cannot be used",
        "To be written.";
}
