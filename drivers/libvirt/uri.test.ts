import { describe, expect, test } from 'vitest'
import { defaultPeerUri, parseLibvirtUri, parsePeerUri } from './uri.ts'

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
    [
      'qemu+tls://lv.example/system?pkipath=/a/b',
      {
        host: 'lv.example',
        port: 16_514,
        tls: { ca: '/a/b/cacert.pem', cert: '/a/b/clientcert.pem', key: '/a/b/clientkey.pem' },
      },
      'qemu:///system',
      false,
    ],
    [
      'qemu://lv.example:1/system',
      {
        host: 'lv.example',
        port: 1,
        tls: {
          ca: '/etc/pki/CA/cacert.pem',
          cert: '/etc/pki/libvirt/clientcert.pem',
          key: '/etc/pki/libvirt/private/clientkey.pem',
        },
      },
      'qemu:///system',
      false,
    ],
  ])('%s', (uri, dial, driverUri, local) => {
    expect(parseLibvirtUri(uri)).toEqual({ dial, driverUri, local })
  })

  test.each([
    'qemu+tls:///system',
    'qemu+tls://host/system?no_verify=1',
    'qemu+ssh://host/system',
    'qemu+tcp:///system',
    'x',
  ])('%s is refused', (uri) => {
    expect(() => parseLibvirtUri(uri)).toThrow(expect.objectContaining({ kind: 'invalid' }))
  })
})

describe('defaultPeerUri()', () => {
  test.each([
    ['qemu:///system', 'qemu+unix:///system?socket=%2Frun%2Flibvirt%2Flibvirt-sock'],
    ['qemu+unix:///system?socket=/a/b%20c', 'qemu+unix:///system?socket=%2Fa%2Fb%20c'],
    ['qemu+tcp://lv.example/system', 'qemu+tcp://lv.example/system'],
    ['qemu+tls://lv.example:1/system?pkipath=/a/b', 'qemu+tls://lv.example:1/system'],
    ['qemu://lv.example/system', 'qemu+tls://lv.example/system'],
  ])('%s', (uri, peer) => {
    expect(defaultPeerUri(uri)).toBe(peer)
    expect(parsePeerUri(peer).uri).toBe(peer)
  })
})

describe('parsePeerUri()', () => {
  test('an encrypted one is known as such', () => {
    expect(parsePeerUri('qemu+tls://b.example/system')).toMatchObject({
      transport: 'tls',
      hostname: 'b.example',
    })
  })

  test.each([
    'qemu+ext:///system?command=/bin/sh',
    'qemu+ssh://host/system',
    'qemu+unix:///system?socket=/a&command=/bin/sh',
    'qemu+tls://host/system?no_verify=1',
    'qemu+tcp:///system',
    'qemu:///system',
    'x',
  ])('%s is refused', (uri) => {
    expect(() => parsePeerUri(uri)).toThrow(expect.objectContaining({ kind: 'invalid' }))
  })
})
