import { expect, test } from 'vitest'
import type { Image } from '../../db/image.ts'
import { patchImage } from './patch-image.ts'

const image: Image = {
  id: '7c1b7a0e-0000-4000-8000-000000000001',
  name: 'tiny',
  status: 'active',
  visibility: 'shared',
  owner: 'p1',
  diskFormat: 'qcow2',
  containerFormat: 'bare',
  minDiskGb: 0,
  minRamMb: 0,
  isProtected: false,
  isHidden: false,
  properties: { os_distro: 'debian', 'a/b~c': 'x' },
  tags: ['old'],
  content: null,
  staged: null,
  changesOf: null,
  isPartOfMove: false,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  revision: 1,
}

test('operations apply in order to attributes, properties and tags', () => {
  const fields = patchImage(image, [
    { op: 'replace', path: '/name', value: 'small' },
    { op: 'add', path: '/os_version', value: '12' },
    { op: 'replace', path: '/os_version', value: '13' },
    { op: 'remove', path: '/a~1b~0c' },
    { op: 'replace', path: '/tags', value: ['b', 'a', 'b'] },
    { op: 'replace', path: '/protected', value: true },
  ])

  expect(fields).toMatchObject({ name: 'small', tags: ['a', 'b'], isProtected: true })
  expect(fields.properties).toEqual({ os_distro: 'debian', os_version: '13' })
  expect(fields).not.toHaveProperty('revision')
})

test.each([
  [{ op: 'replace', path: '/status', value: 'queued' }, 'forbidden', 'read-only'],
  [{ op: 'add', path: '/locations', value: [] }, 'forbidden', 'reserved'],
  [{ op: 'add', path: '/os_glance_x', value: 'y' }, 'forbidden', 'reserved'],
  [{ op: 'replace', path: '/disk_format', value: 'raw' }, 'forbidden', 'queued image'],
  [{ op: 'remove', path: '/name' }, 'forbidden', 'may not be removed'],
  [{ op: 'remove', path: '/absent' }, 'conflict', 'does not exist'],
  [{ op: 'replace', path: '/absent', value: 'x' }, 'conflict', 'does not exist'],
  [{ op: 'add', path: '/number', value: 3 }, 'invalid', 'must be a string'],
  [{ op: 'replace', path: '/min_disk', value: -1 }, 'invalid', 'min_disk'],
  [{ op: 'replace', path: '/visibility', value: 'secret' }, 'invalid', 'visibility'],
  [{ op: 'add', path: 'name', value: 'x' }, 'invalid', 'JSON pointer'],
  [{ op: 'add', path: '/tags/0', value: 'x' }, 'invalid', 'JSON pointer'],
  [{ op: 'add', path: '/a~2', value: 'x' }, 'invalid', 'escape sequence'],
] as const)('%j is refused', (operation, kind, text) => {
  const patch = () => patchImage(image, [operation])

  expect(patch).toThrow(expect.objectContaining({ kind }))
  expect(patch).toThrow(text)
})
