import { expect, test } from 'vitest'
import { likePattern, textPattern } from './text-pattern.ts'

test.each([
  ['vm1', '%vm1%'],
  ['^vm1$', 'vm1'],
  ['^Web-.*x', 'web-%x%'],
  ['a.c', '%a_c%'],
  ['10\\.0\\.0\\.5', '%10.0.0.5%'],
  ['100%_', '%100\\%\\_%'],
  ['price\\$', '%price$%'],
  ['', '%%'],
  ['ä€😀', '%ä€😀%'],
])('likePattern() reduces %j to %j', (pattern, like) => {
  expect(likePattern(pattern)).toBe(like)
})

test.each(['a|b', 'a*', '[ab]', '(a)', 'a{2}', '\\d', 'a+', 'a?', 'a^', 'a$b', '.+'])(
  'likePattern() knows that LIKE cannot say %j',
  (pattern) => {
    expect(likePattern(pattern)).toBeUndefined()
  },
)

test('textPattern() finds a pattern anywhere, in any case', () => {
  const pattern = textPattern('W(eb|ork)\\d', 'name')
  expect(['my-web1', 'WORK2', 'web'].map((text) => pattern.matches(text))).toEqual([
    true,
    true,
    false,
  ])
})

test.each(['(', '(?=a)b', '\\1', 'a'.repeat(256)])('textPattern() refuses %j', (text) => {
  expect(() => textPattern(text, 'name')).toThrow('Invalid name')
})

test('textPattern() answers for a pattern that would take others for ever', () => {
  const pattern = textPattern('(a+)+$', 'name')
  expect(pattern.matches(`${'a'.repeat(5_000)}!`)).toBe(false)
})
