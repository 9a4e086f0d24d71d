import { describe, expect, test } from 'vitest'
import { expressionsOfProduct } from './regex/literals.ts'
import { findAttack } from './regex/pump.ts'

// Goal: no text, whoever sends it, makes a regular expression take more than linear time.

const { literals, made } = expressionsOfProduct()

test('no expression of the product is super-linear', () => {
  const known = new Map(literals.map((each) => [`/${each.source}/${each.flags}`, each]))
  const slow = [...known].flatMap(([text, { path, source, flags }]) => {
    const attack = findAttack(source, flags)
    return attack === undefined ? [] : [{ path, text, ...attack }]
  })

  expect(known.size).toBeGreaterThan(100)
  expect(slow).toEqual([])
})

test('expressions stand in the files as they are: none is made from a text', () => {
  expect(made).toEqual([])
})

describe('what finds them', () => {
  test.each([
    ['two ways to take one character', /^(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*version=[123]\s/i],
    ['a search for an end from every beginning', /\/+$/],
    ['a repeated repetition', /^(?:a+)+$/],
    ['neighbours that take the same', /^\s*[\s\d]*$/],
    ['a start to search for and an end that never comes', /<.*>/],
    ['one alternative inside another', /^(?:\w|\d)*$/],
  ])('%s', (_, { source, flags }) => {
    expect(findAttack(source, flags)).toBeDefined()
  })

  test.each([
    /^(?:[ \t]*(?:#[^\n]*|\r?)\n)*[ \t]*version=[123]\s/i,
    /^[a-z]+$/,
    /a{1,3}b/,
    /^(\d+) (\w+)$/,
  ])('passes %s', ({ source, flags }) => {
    expect(findAttack(source, flags)).toBeUndefined()
  })
})
