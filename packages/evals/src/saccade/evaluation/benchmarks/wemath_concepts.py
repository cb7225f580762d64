"""We-Math's knowledge tree: the concepts that single steps ask for, by the part of geometry they belong to."""

from collections.abc import Mapping

CONCEPTS: Mapping[str, tuple[str, ...]] = {
    "Understanding and Conversion of Units": (
        "Conversion Rates and Calculations Between Area Units",
        "Conversion Rates and Calculations Between Volume Units (Including Liters and Milliliters)",
        "Conversion Rates and Calculations Between Length Units",
    ),
    "Angles and Length": (
        "Understanding Angles (Using a Protractor)",
        "Understanding Length (Using a Ruler)",
    ),
    "Calculation of Solid Figures": (
        "Surface Area of Cylinders",
        "Surface Area of Rectangular Cuboids",
        "Surface Area of Cubes",
        "Volume and Capacity of Cylinders",
        "Volume and Capacity of Cones",
        "Volume and Capacity of Rectangular Cuboids",
        "Volume and Capacity of Cubes",
    ),
    "Understanding of Solid Figures": (
        "Expanded View of Cylinders",
        "Expanded View of Rectangular Cuboids",
        "Expanded View of Cubes",
        "Properties of Cylinders",
        "Properties of Cones",
        "Properties and Understanding of Rectangular Cuboids",
        "Properties and Understanding of Cubes",
        "Observing Objects",
    ),
    "Calculation of Plane Figures": (
        "Sum of Interior Angles of Other Polygons",
        "Sum of Interior Angles of Triangles",
        "Calculation and Comparison of Angles",
        "Area of Parallelograms",
        "Area of Triangles",
        "Area of Sectors",
        "Area of Trapezoids",
        "Area of Circles",
        "Area of Rectangles",
        "Area of Squares",
        "Perimeter of Parallelograms",
        "Perimeter of Triangles",
        "Perimeter of Trapezoids",
        "Circumference of Circles",
        "Perimeter of Rectangles",
        "Perimeter of Squares",
    ),
    "Understanding of Plane Figures": (
        "Properties and Understanding of Parallelograms",
        "Properties and Understanding of Triangles",
        "Properties and Understanding of Trapezoids",
        "Properties and Understanding of Rectangles",
        "Properties and Understanding of Squares",
        "Understanding Triangular Rulers",
        "Understanding and Representing Angles",
        "Distance Between Two Points",
        "Understanding Line Segments, Lines, and Rays",
        "perpendicularity",
        "Parallel",
        "Understanding Sectors",
        "Understanding Circles",
        "Observing Figures",
    ),
    "Basic Transformations of Figures": (
        "Axial Symmetry",
        "Translation",
        "Rotation",
    ),
    "Cutting and Combining of Figures": (
        "Combining and Dividing Solids",
        "Division of Plane Figures",
        "Combining Plane Figures",
        "Tessellation of Figures",
        "Folding Problems of Figures",
    ),
    "Direction": (
        "Southeast, Southwest, Northeast, Northwest Directions",
        "Cardinal Directions (East, South, West, North)",
    ),
    "Route Map": (
        "Determining the Positions of Objects Based on Direction, Angle, and Distance",
        "Describing Simple Routes Based on Direction and Distance",
    ),
    "Correspondence of Coordinates and Positions": (
        "Representing Positions Using Ordered Pairs",
        "Finding Positions Based on Ordered Pairs",
    ),
    "Position": (
        "Front-Back Position",
        "Up-Down Position",
        "Left-Right Position",
    ),
}
"""Names as the release writes them in its column ``knowledge concept``."""
