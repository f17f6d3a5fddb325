//! A plan as people and other programs see it: text, DOT, Mermaid, JSON.
