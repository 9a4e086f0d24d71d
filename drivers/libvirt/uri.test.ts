import { describe, expect, test } from 'vitest'
import { parseLibvirtUri } from './uri.ts'

describe('parseLibvirtUri()', () => {
  test.each([
    ['qemu:///system', { path: '/run/libvirt/libvirt-sock' }, 'qemu:///system', true],
    ['qemu+unix:///system?socket=/a/b%20c', { path: '/a/b c' }, 'qemu:///system', true],
    ['qemu+tcp://lv.example/system', { host: 'lv.example', port: 16_509 }, 'qemu:///system', false],
    [
      'test+tcp://10.0.0.1:1234/default',
      { host: '10.0.0.1', port: 1234 },
      'test:///default',
      false,
    ],
  ])('%s', (uri, dial, driverUri, local) => {
    expect(parseLibvirtUri(uri)).toEqual({ dial, driverUri, local })
  })

  test.each(['qemu://host/system', 'qemu+tls://host/system', 'qemu+tcp:///system', 'x'])(
    '%s is refused',
    (uri) => {
      expect(() => parseLibvirtUri(uri)).toThrow(expect.objectContaining({ kind: 'invalid' }))
    },
  )
})
