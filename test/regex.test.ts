import { describe, expect, test } from 'vitest'
import { findAttacks } from './regex/find-attacks.ts'
import { expressionsOfProduct } from './regex/literals.ts'

// Goal: no text makes a regular expression take more than linear time.

const { literals, made } = expressionsOfProduct()

test('no expression of the product is super-linear', async () => {
  const known = [
    ...new Map(literals.map((each) => [`/${each.source}/${each.flags}`, each])).values(),
  ]
  const attacks = await findAttacks(known)
  const slow = known.flatMap((each, nth) => {
    const attack = attacks[nth]
    return attack === undefined ? [] : [{ ...each, ...attack }]
  })

  expect(known.length).toBeGreaterThan(100)
  expect(slow).toEqual([])
})

test('expressions stand in the files as they are: none is made from a text', () => {
  expect(made).toEqual([])
})

describe('the search for attacks', () => {
  test.each([
    ['two ways to take one character', /^(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*version=[123]\s/i],
    ['a search for an end from every beginning', /\/+$/],
    ['a repeated repetition', /^(?:a+)+$/],
    ['neighbours that take the same', /^\s*[\s\d]*$/],
    ['a start to search for and an end that never comes', /<.*>/],
    ['one alternative inside another', /^(?:\w|\d)*$/],
  ])('%s', async (_, expression) => {
    expect((await findAttacks([expression]))[0]).toBeDefined()
  })

  test.each([
    /^(?:[ \t]*(?:#[^\n]*|\r?)\n)*[ \t]*version=[123]\s/i,
    /^[a-z]+$/,
    /a{1,3}b/,
    /^(\d+) (\w+)$/,
  ])('passes %s', async (expression) => {
    expect(await findAttacks([expression])).toEqual([undefined])
  })
})
