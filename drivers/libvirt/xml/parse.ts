import { XMLParser } from 'fast-xml-parser'
import { Failure } from '#common/errors.ts'

/** Parsed XML: `@name` holds an attribute, `#text` an element's text, and every element is a list. */
export interface XmlTree {
  readonly [name: string]: readonly XmlTree[] | string | undefined
}

const XML_BYTES_MAX = 4 * 1024 * 1024

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  alwaysCreateTextNode: true,
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  removeNSPrefix: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  isArray: (_name, _path, _leaf, isAttribute) => !isAttribute,
})

/** Reads the daemon's XML. No entity is ever expanded, and a document type declaration is refused. */
export function parseXml(text: string): XmlTree {
  refuseUnreadable(text)
  return parser.parse(text) as XmlTree
}

/** Throws `internal` for XML that is too long or could refer to something. */
export function refuseUnreadable(text: string): void {
  if (text.length > XML_BYTES_MAX || text.includes('<!DOCTYPE'))
    throw new Failure('internal', 'The hypervisor answered with XML that Weir does not read.')
}

/** The elements at a path of names below `tree`. */
export function elementsAt(tree: XmlTree, ...path: readonly string[]): readonly XmlTree[] {
  return path.reduce<readonly XmlTree[]>(
    (trees, name) => trees.flatMap((t) => childrenOf(t, name)),
    [tree],
  )
}

function childrenOf(tree: XmlTree, name: string): readonly XmlTree[] {
  const children = tree[name]
  return typeof children === 'object' ? children : []
}

/** The text of the first element at a path; empty when there is none. */
export function textAt(tree: XmlTree, ...path: readonly string[]): string {
  const text = elementsAt(tree, ...path)[0]?.['#text']
  return typeof text === 'string' ? text : ''
}

/** An attribute of the first element at a path; empty when there is none. */
export function attributeAt(tree: XmlTree, name: string, ...path: readonly string[]): string {
  const value = elementsAt(tree, ...path)[0]?.[`@${name}`]
  return typeof value === 'string' ? value : ''
}
