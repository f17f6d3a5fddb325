pages! { TABLE;
    CYCLE = "KB0401", "steps depend on each other in a circle",
        "To be written.";
}
