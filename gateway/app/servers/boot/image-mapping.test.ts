import { expect, test } from 'vitest'
import type { VolumeSnapshotId } from '#common/ids.ts'
import { mappingProperties, withMappedVolumes } from './image-mapping.ts'
import type { RequestedDisk, ServerRequest } from './server-request.ts'

// Goal: what an image says of the volumes of a server is what a server that is built from it gets, unless the request says otherwise.

const IMAGE = 'image'
const kept = (id: string, isRoot: boolean) => ({
  attachment: { isRoot, deletesVolume: !isRoot, tag: isRoot ? null : 'data', device: '/dev/vda' },
  snapshot: { id: id as VolumeSnapshotId, sizeGb: 3 },
})
const PROPERTIES = mappingProperties([kept('root', true), kept('other', false)])

const expanded = (disks: readonly RequestedDisk[], properties = PROPERTIES) => {
  const request = { imageRef: IMAGE, disks } as unknown as ServerRequest
  return withMappedVolumes(request, { id: IMAGE as never, properties })
}
const disk = (change: Partial<RequestedDisk>): RequestedDisk => ({
  ...{ sourceType: 'volume', destinationType: 'volume', sourceId: 'v', bootIndex: undefined },
  ...{ guestFormat: undefined, size: undefined, ...change },
})

test('the volumes of a saved server come back in the place of the image', () => {
  expect(expanded([])).toMatchObject({
    imageRef: null,
    disks: [
      { sourceType: 'snapshot', sourceId: 'root', bootIndex: 0, size: 3, deletesVolume: false },
      { sourceType: 'snapshot', sourceId: 'other', size: 3, deletesVolume: true, tag: 'data' },
    ],
  })
})

test('the disk by which clients describe the image is none of its own, and other disks stay', () => {
  const image = { sourceType: 'image', destinationType: 'local', sourceId: IMAGE, bootIndex: 0 }
  const own = disk({ sourceId: 'own' })

  const ids = expanded([disk(image), own])?.disks.map(({ sourceId }) => sourceId)
  expect(ids).toEqual(['root', 'other', 'own'])
})

test('a disk of the request takes the place of the one with its boot index', () => {
  const ids = expanded([disk({ bootIndex: 0 })])?.disks.map(({ sourceId }) => sourceId)

  expect(ids).toEqual(['other', 'v'])
})

test.each([[{}], [{ block_device_mapping: '' }], [{ block_device_mapping: '[]' }]])(
  'an image with the properties %o has one disk',
  (properties) => {
    expect(expanded([], properties as never)).toBeUndefined()
  },
)

test.each(['nonsense', '{}', '[1]', '[null]'])('the mapping %s is refused', (text) => {
  expect(() => expanded([], { block_device_mapping: text })).toThrow(
    'The block_device_mapping of image image is no list of disks.',
  )
})
