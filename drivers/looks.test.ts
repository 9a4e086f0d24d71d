import { expect, test } from 'vitest'
import { Looks } from './looks.ts'

test('there is one look at a thing at a time, which those who wait may give up', async () => {
  const begun: string[] = []
  let end: (value: string) => void = () => {}
  const look = (key: string) => {
    begun.push(key)
    return key === 'silent'
      ? new Promise<string>((resolve) => (end = resolve))
      : Promise.resolve(key)
  }
  const looks = new Looks(look, 60_000)
  const impatient = AbortSignal.timeout(1)

  await expect(looks.at('silent', impatient)).rejects.toMatchObject({ name: 'TimeoutError' })
  const later = looks.at('silent', new AbortController().signal)
  expect(await looks.at('other', new AbortController().signal)).toBe('other')
  end('answer')
  expect(await later).toBe('answer')
  expect(begun).toEqual(['silent', 'other'])
  await looks.at('other', new AbortController().signal)
  expect(begun).toEqual(['silent', 'other', 'other'])
})
