pages! { TABLE;
    INVALID_YAML = "KB0101", "not valid YAML",
        "To be written.";
}
