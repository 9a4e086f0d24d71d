import openapiTS, {
  astToString,
  COMMENT_HEADER,
  type OpenAPI3,
  type OpenAPITSOptions,
} from 'openapi-typescript'
import { type DocumentName, loadDocument } from '../load-document.ts'
import { widestDocument } from '../projection/widest.ts'

const OURS = { immutable: true, rootTypes: true, rootTypesNoSchemaPrefix: true } as const

/** The TypeScript types of one document, as they stand in `<name>.gen.ts`. */
export function renderTypes(name: DocumentName): Promise<string> {
  return renderDocument(widestDocument(loadDocument(name)), OURS)
}

/** The TypeScript types of any plain OpenAPI document, as the generator makes them unless told otherwise. */
export async function renderDocument(
  document: object,
  options: OpenAPITSOptions = {},
): Promise<string> {
  return COMMENT_HEADER + astToString(await openapiTS(document as OpenAPI3, options))
}
