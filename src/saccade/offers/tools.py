"""What the tools offer."""

OFFERS = {
    "saccade.tools": {
        "python": "saccade.tools.code_maker:PythonMaker",
        "service": "saccade.services.client.maker:ServiceMaker",
        "catalogue": "saccade.tools.catalogue.maker:CatalogueMaker",
        "images": "saccade.tools.images:IMAGE_TOOLS",
        "geometry": "saccade.tools.geometry_tools:GEOMETRY_TOOLS",
        "diagrams": "saccade.tools.diagram_tools:DIAGRAM_TOOLS",
    }
}
