import { expect, test } from 'vitest'
import { hostFormat, savedFormats } from './format.ts'

test('what a host has saved is an image of the same format for hosts', () => {
  for (const format of ['raw', 'qcow2', 'docker'])
    expect(hostFormat(savedFormats(format)!)).toBe(format)
  expect(savedFormats('docker')).toEqual({ diskFormat: 'raw', containerFormat: 'docker' })
  expect(savedFormats('raw')).toEqual({ diskFormat: 'raw', containerFormat: 'bare' })
  expect(savedFormats('ploop')).toBeUndefined()
  expect(hostFormat({ diskFormat: null, containerFormat: null })).toBeNull()
})
