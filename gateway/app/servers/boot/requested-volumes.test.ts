import { describe, expect, test } from 'vitest'
import { requestedVolumes } from './requested-volumes.ts'
import type { RequestedDisk } from './server-request.ts'

const existing: RequestedDisk = {
  sourceType: 'volume',
  destinationType: 'volume',
  sourceId: 'v',
  bootIndex: -1,
  guestFormat: undefined,
  size: undefined,
}
const image: RequestedDisk = { ...existing, sourceType: 'image', sourceId: 'an-image', size: 3 }
const blank: RequestedDisk = { ...existing, sourceType: 'blank', sourceId: undefined, size: 2 }

describe('volumes of a boot', () => {
  test('are those that there are, and new ones from images, snapshots or empty', () => {
    const disks = [
      { ...image, bootIndex: 0, volumeType: 'fast', deletesVolume: true },
      { ...existing, tag: 'data' },
      { ...existing, sourceType: 'snapshot', sourceId: 'kept' },
      blank,
      { ...blank, destinationType: 'local' },
    ]
    const common = { type: null, tag: null, deletesVolume: false, isRoot: false }
    const source = { kind: 'image', id: 'an-image' }

    expect(requestedVolumes({ disks, maxCount: 1 })).toEqual([
      {
        ...{ ...common, volumeId: undefined, source, sizeGb: 3 },
        ...{ type: 'fast', deletesVolume: true, isRoot: true },
      },
      { ...common, volumeId: 'v', source: null, sizeGb: null, tag: 'data' },
      { ...common, volumeId: undefined, source: { kind: 'snapshot', id: 'kept' }, sizeGb: null },
      { ...common, volumeId: undefined, source: null, sizeGb: 2 },
    ])
  })

  test.each<[string, readonly RequestedDisk[]]>([
    ['Missing device UUID', [{ ...existing, sourceId: undefined }]],
    ['Missing device UUID', [{ ...image, sourceId: undefined }]],
    ['Invalid device UUID', [{ ...blank, sourceId: 'v' }]],
    ['Mapping volume to local', [{ ...existing, destinationType: 'local' }]],
    ["Images with destination_type 'volume' need", [{ ...image, size: undefined }]],
    ['Blank volumes', [{ ...blank, size: undefined }]],
    ['does not start from an empty volume', [{ ...blank, bootIndex: 0 }]],
    ['Missing device UUID', [{ ...existing, sourceType: 'snapshot', sourceId: undefined }]],
    ['named more than once', [existing, existing]],
    ['at most 20 volumes', Array.from({ length: 21 }, () => blank)],
  ])('are refused: %s', (text, disks) => {
    expect(() => requestedVolumes({ disks, maxCount: 1 })).toThrow(text)
  })

  test('that there are go to one server alone', () => {
    expect(() => requestedVolumes({ disks: [existing], maxCount: 2 })).toThrow('multiple instances')
    expect(requestedVolumes({ disks: [image], maxCount: 2 })).toHaveLength(1)
  })
})
