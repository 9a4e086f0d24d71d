import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { imageSpec } from './instance-spec.ts'

const { image } = sampleBuild()
const changes = { id: newId<string>(), sizeBytes: 1, sha256: '0'.repeat(64), ticket: 't' }

test('an image with changes has the format of the image for the driver', () => {
  const diskFormat = `${image.diskFormat}+changes`
  expect(imageSpec({ ...image, diskFormat, changes })).toMatchObject({
    id: image.id,
    diskFormat: image.diskFormat,
    changes,
  })
})

test('one without the other is no disk', () => {
  const diskFormat = `${image.diskFormat}+changes`
  expect(() => imageSpec({ ...image, diskFormat })).toThrow('came without changes')
  expect(() => imageSpec({ ...image, changes })).toThrow('came with changes')
  expect(imageSpec(image)).toEqual(image)
})
