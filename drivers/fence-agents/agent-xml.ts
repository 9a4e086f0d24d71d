import { XMLParser } from 'fast-xml-parser'
import { Failure } from '#common/errors.ts'

/** An element with its attributes, and the elements in it by their names, each a list. */
export type Element = Readonly<Record<string, string | readonly Element[]>>

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseAttributeValue: false,
  alwaysCreateTextNode: true,
  processEntities: false,
  isArray: (_name, _path, _leaf, isAttribute) => !isAttribute,
})

/** Throws `invalid` for a text that is no XML. No entity is expanded. */
export function parsed(text: string): Element {
  try {
    return parser.parse(text) as Element
  } catch (cause) {
    throw new Failure('invalid', 'It answered with something that is no XML.', { cause })
  }
}

/** The elements at a path of names in any of these. */
export function within(
  elements: readonly Element[],
  ...path: readonly string[]
): readonly Element[] {
  return path.reduce(
    (found, name) =>
      found.flatMap((each) => {
        const inside = each[name]
        return typeof inside === 'object' ? inside.filter((one) => typeof one === 'object') : []
      }),
    elements,
  )
}

/** Empty where the element has none of that name. */
export function attribute(element: Element, name: string): string {
  const value = element[`@${name}`]
  return typeof value === 'string' ? value : ''
}

/** The text of an element; empty where it has none. */
export function textOf(element: Element | undefined): string {
  const text = element?.['#text']
  return typeof text === 'string' ? text : ''
}
