pages! { TABLE;
    NO_MODEL = "KB0701", "no model",
        "To be written.";
}
