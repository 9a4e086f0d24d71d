/** A piece of XML that was built, never pasted: only `element` makes one. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly children: readonly XmlNode[]
}
export type XmlNode = XmlElement | string

/** An element; children that are absent are left out, so that a condition can stand in the list. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>> = {},
  ...children: readonly (XmlNode | undefined)[]
): XmlElement {
  const given = Object.entries(attributes).filter(
    (entry): entry is [string, string | number] => entry[1] !== undefined,
  )
  return {
    name,
    attributes: Object.fromEntries(given),
    children: children.filter((child) => child !== undefined),
  }
}

export function renderXml(node: XmlNode): string {
  if (typeof node === 'string') return escapeXml(node)
  const attributes = Object.entries(node.attributes)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('')
  const content = node.children.map(renderXml).join('')
  return `<${node.name}${attributes}>${content}</${node.name}>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Characters that XML 1.0 cannot hold in any form (§2.2) become U+FFFD. */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
}
