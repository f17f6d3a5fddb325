//! Plans: edges and their strengths, circles, order, guards, keys, pictures.
