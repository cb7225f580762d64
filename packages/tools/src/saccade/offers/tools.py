"""What the tools offer."""

OFFERS = {
    "saccade.faces": {
        "saccade.tools.code": "Sessions python_tool",
        "saccade.tools.diagram_tools": "DIAGRAM_TOOLS",
        "saccade.tools.geometry_tools": "GEOMETRY_TOOLS",
        "saccade.tools.ocr_tools": "reading_tools",
        "saccade.tools.page_search": "SearchTool bounded_search search_tool",
        "saccade.tools.remembered": "RememberedSessions remembering",
    },
    "saccade.tools": {
        "python": "saccade.tools.code_maker:PythonMaker",
        "service": "saccade.services.client.maker:ServiceMaker",
        "catalogue": "saccade.tools.catalogue.maker:CatalogueMaker",
        "images": "saccade.tools.images:IMAGE_TOOLS",
        "geometry": "saccade.tools.geometry_tools:GEOMETRY_TOOLS",
        "diagrams": "saccade.tools.diagram_tools:DIAGRAM_TOOLS",
    },
}
