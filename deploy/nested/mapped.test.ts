import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mapped, withOurIds } from './mapped.ts'

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

const ID = '01a2048a-2430-436c-a5a3-6becffacc73e'
const OTHER = '01a2048a-260d-4592-93cc-35a3a8213240'
const THINGS = [
  { id: ID, name: 'tiny' },
  { id: OTHER, name: 'twice' },
  { id: OTHER.replace('01', '02'), name: 'twice' },
]
const api = createServer(({ url = '' }, response) => {
  const { pathname, searchParams } = new URL(url, 'http://here')
  const found = THINGS.filter(
    ({ id, name }) =>
      (searchParams.get('id') ?? id) === id && (searchParams.get('name') ?? name) === name,
  )
  response.end(JSON.stringify({ [pathname.split('/').at(-1)!]: found }))
})
const admin = () => {
  const { port } = api.address() as AddressInfo
  return { endpoint: `http://127.0.0.1:${port}`, token: 'token' }
}
beforeAll(() => new Promise<void>((resolve) => void api.listen(0, '127.0.0.1', resolve)))
afterAll(() => void api.close())

test('our images and networks are mapped by their ids, even if given by name', async () => {
  const settings = { images: `tiny=a,${OTHER}=b`, mapped_networks: 'tiny=lan', flavors: 'x=y' }

  expect(await withOurIds(admin(), settings)).toEqual({
    ...{ images: `${ID}=a,${OTHER}=b`, mapped_networks: `${ID}=lan`, flavors: 'x=y' },
  })
  expect(await withOurIds(admin(), { projects: 'any' })).toEqual({ projects: 'any' })
})

test.each([
  [{ images: 'huge=a' }, 'There is no image huge here to map. There are: tiny, twice, twice.'],
  [{ mapped_networks: 'twice=a' }, `several networks called twice here: name one by its id, such`],
])('%j is refused with what there is', async (settings, said) => {
  await expect(withOurIds(admin(), settings)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining(said),
  })
})
