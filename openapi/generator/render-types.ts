import openapiTS, { astToString, COMMENT_HEADER, type OpenAPI3 } from 'openapi-typescript'
import { type DocumentName, loadDocument } from '../load-document.ts'
import { widestDocument } from '../projection/widest.ts'

/** The TypeScript types of one document, as they stand in `<name>.gen.ts`. */
export async function renderTypes(name: DocumentName): Promise<string> {
  const document = widestDocument(loadDocument(name))
  const tree = await openapiTS(document as unknown as OpenAPI3, {
    immutable: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  })
  return COMMENT_HEADER + astToString(tree)
}
