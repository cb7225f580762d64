"""Words that are one token each, to bring texts to an exact length."""

# fmt: off
WORDS = (
    "and", "apple", "bear", "bird", "blue", "boat", "book", "box", "bread", "bridge", "brown", "cake", "card", "cat",
    "chair", "child", "city", "clock", "cloud", "coat", "corn", "cup", "day", "desk", "dog", "door", "dress", "duck",
    "farm", "field", "fish", "flag", "floor", "flower", "forest", "fork", "fox", "glass", "goat", "grass", "green",
    "hand", "hat", "hill", "horse", "house", "island", "kite", "lake", "lamp", "leaf", "light", "lion", "map", "milk",
    "moon", "mouse", "nest", "night", "orange", "owl", "page", "paper", "pear", "pen", "piano", "pig", "plane",
    "plate", "pond", "rain", "red", "ring", "river", "road", "rock", "roof", "rose", "sand", "ship", "shirt", "shoe",
    "sky", "snow", "sock", "spoon", "square", "star", "stone", "street", "sun", "table", "tent", "tower", "town",
    "train", "tree", "truck", "wall", "water", "wheel", "white", "wind", "window", "wolf", "wood", "yellow",
)
# fmt: on
