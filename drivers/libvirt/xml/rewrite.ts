import { XMLParser } from 'fast-xml-parser'
import { element, type XmlElement, type XmlNode } from './element.ts'
import { refuseUnreadable } from './parse.ts'

/** In place of an element: another one, or none. */
export type Change = (found: XmlElement) => XmlElement | undefined

/** The parser's form of a node: its name over its children, with its attributes beside it. */
type Parsed = Readonly<
  Record<string, readonly Parsed[] | string | Readonly<Record<string, string>>>
>

const ATTRIBUTES = ':@'
const TEXT = '#text'

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
})

/** The root element of the daemon's XML, rebuilt: the innermost elements are changed first. */
export function rewriteXml(text: string, change: Change): XmlElement | undefined {
  refuseUnreadable(text)
  const [root] = (parser.parse(text) as readonly Parsed[]).map((node) => rebuilt(node, change))
  return typeof root === 'object' ? root : undefined
}

function rebuilt(node: Parsed, change: Change): XmlNode | undefined {
  if (typeof node[TEXT] === 'string') return unescapeXml(node[TEXT])
  const name = Object.keys(node).find((key) => key !== ATTRIBUTES)!
  const attributes = Object.entries((node[ATTRIBUTES] ?? {}) as Readonly<Record<string, string>>)
  const children = node[name] as readonly Parsed[]
  return change(
    element(
      name,
      Object.fromEntries(attributes.map(([key, value]) => [key, unescapeXml(value)])),
      ...children.map((child) => rebuilt(child, change)),
    ),
  )
}

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

/** Only the five that XML itself has; nothing else is expanded. */
function unescapeXml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_all, name: string) => CHARACTERS[name]!)
}
