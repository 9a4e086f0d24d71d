import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { element, renderXml } from './element.ts'
import { attributeAt, elementsAt, parseXml, textAt } from './parse.ts'

describe('renderXml()', () => {
  test('no value can end its element or attribute', () => {
    const evil = `"/><evil a='&amp;'>]]></x>`

    const xml = renderXml(element('x', { a: evil }, evil, element('y')))

    expect(xml).toBe(
      '<x a="&quot;/&gt;&lt;evil a=&apos;&amp;amp;&apos;&gt;]]&gt;&lt;/x&gt;">' +
        '&quot;/&gt;&lt;evil a=&apos;&amp;amp;&apos;&gt;]]&gt;&lt;/x&gt;<y></y></x>',
    )
  })

  test('for any text, the output has exactly the built elements', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const tree = parseXml(renderXml(element('x', { a: text }, element('y', {}, text))))

        expect(Object.keys(tree)).toEqual(['x'])
        expect(elementsAt(tree, 'x')).toHaveLength(1)
        expect(elementsAt(tree, 'x', 'y')).toHaveLength(1)
      }),
    )
  })

  test('characters that XML cannot hold are replaced', () => {
    expect(renderXml(element('x', {}, 'a\u0000b\u001bc\ud800'))).toBe(
      '<x>a\ufffdb\ufffdc\ufffd</x>',
    )
  })

  test('absent attributes and children are left out', () => {
    expect(renderXml(element('x', { a: undefined, b: 0 }, undefined))).toBe('<x b="0"></x>')
  })
})

describe('parseXml()', () => {
  test('elements, attributes and texts are found by path', () => {
    const tree = parseXml(`<a><b id='1'>one</b><b id='2'/><n:c xmlns:n='urn:x' k='v'>t</n:c></a>`)

    expect(elementsAt(tree, 'a', 'b').map((b) => attributeAt(b, 'id'))).toEqual(['1', '2'])
    expect(textAt(tree, 'a', 'b')).toBe('one')
    expect(attributeAt(tree, 'k', 'a', 'c')).toBe('v')
    expect(textAt(tree, 'a', 'nothing')).toBe('')
  })

  test('entities are not expanded and document types are refused', () => {
    expect(textAt(parseXml('<a>&lol;</a>'), 'a')).toBe('&lol;')
    const bomb = '<!DOCTYPE a [<!ENTITY lol "lol">]><a>&lol;</a>'
    expect(() => parseXml(bomb)).toThrow('XML that Weir does not read')
  })
})
