import { expect, test } from 'vitest'
import { mapped } from './mapped.ts'

test('pairs are added to the settings of their kind, and others are refused', () => {
  const settings = { projects: 'any', flavors: 'm1.tiny=1' }

  expect(
    mapped(settings, ['flavor:m1.small=c2.small', 'image:a=b', 'network:c=d', 'network:e=f']),
  ).toEqual({
    ...{ projects: 'any', flavors: 'm1.tiny=1,m1.small=c2.small', images: 'a=b' },
    mapped_networks: 'c=d,e=f',
  })
  expect(mapped(settings, [])).toEqual(settings)
  for (const wrong of ['m1.small=c2', 'zone:a=b', 'flavor:a', 'flavor:a=b,c=d'])
    expect(() => mapped(settings, [wrong])).toThrow(`--map ${wrong} is not like`)
})
