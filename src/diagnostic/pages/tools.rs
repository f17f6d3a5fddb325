pages! { TABLE;
    POLICY_DENIED = "KB0601", "a policy forbids it",
        "To be written.";
}
