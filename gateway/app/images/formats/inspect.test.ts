import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ContentSampler } from './content-sampler.ts'
import type { DiskFormat } from './format.ts'
import { inspectContent } from './inspect.ts'

const MIB = 2 ** 20

function inspect(declared: DiskFormat, content: Buffer): number {
  const sampler = new ContentSampler()
  for (let at = 0; at < content.length; at += 60_000)
    sampler.push(content.subarray(at, at + 60_000))
  return inspectContent(declared, sampler.sample())
}

interface Qcow2Header {
  readonly version?: number
  readonly backingOffset?: bigint
  readonly backingLength?: number
  readonly clusterBits?: number
  readonly sizeBytes?: bigint
  readonly encryption?: number
  readonly incompatible?: bigint
  readonly headerBytes?: number
  readonly extensions?: readonly (readonly [type: number, data: Buffer])[]
}

function qcow2(header: Qcow2Header = {}): Buffer {
  const content = Buffer.alloc(256 * 1024)
  const version = header.version ?? 3
  content.write('QFI\xfb', 0, 'latin1')
  content.writeUInt32BE(version, 4)
  content.writeBigUInt64BE(header.backingOffset ?? 0n, 8)
  content.writeUInt32BE(header.backingLength ?? 0, 16)
  content.writeUInt32BE(header.clusterBits ?? 16, 20)
  content.writeBigUInt64BE(header.sizeBytes ?? 10n * BigInt(MIB), 24)
  content.writeUInt32BE(header.encryption ?? 0, 32)
  const headerBytes = header.headerBytes ?? 104
  if (version === 3) {
    content.writeBigUInt64BE(header.incompatible ?? 0n, 72)
    content.writeUInt32BE(headerBytes, 100)
  }
  let at = version === 3 ? Math.max(headerBytes, 104) : 72
  for (const [type, data] of header.extensions ?? []) {
    content.writeUInt32BE(type, at)
    content.writeUInt32BE(data.length, at + 4)
    data.copy(content, at + 8)
    at += 8 + Math.ceil(data.length / 8) * 8
  }
  return content
}

function vmdk(descriptor: string, offsetSectors = 1n): Buffer {
  const content = Buffer.alloc(64 * 1024)
  content.write('KDMV', 0, 'latin1')
  content.writeUInt32LE(1, 4)
  content.writeBigUInt64LE(2048n, 12)
  content.writeBigUInt64LE(offsetSectors, 28)
  content.writeBigUInt64LE(20n, 36)
  content.write(descriptor, 512, 'latin1')
  return content
}

function descriptorOf(type: string, extent: string, more = ''): string {
  return `# Disk DescriptorFile\nversion=1\nCID=12345678\nparentCID=ffffffff\ncreateType="${type}"\n${more}\n${extent}\n`
}

function vhdFooter(type: number): Buffer {
  const footer = Buffer.alloc(512)
  footer.write('conectix', 0, 'latin1')
  footer.writeBigUInt64BE(BigInt(4 * MIB), 48)
  footer.writeUInt32BE(type, 60)
  return footer
}

function vdi(type: number): Buffer {
  const content = Buffer.alloc(4096)
  content.writeUInt32LE(0xbeda107f, 0x40)
  content.writeUInt32LE(type, 0x4c)
  content.writeBigUInt64LE(BigInt(8 * MIB), 0x170)
  return content
}

function iso(): Buffer {
  const content = Buffer.alloc(64 * 1024)
  content.write('CD001', 0x8001, 'latin1')
  return content
}

const SPARSE = 'RW 2048 SPARSE "disk.vmdk"'

describe('images of qemu-img are accepted in their own format', () => {
  const formats: readonly (readonly [DiskFormat, string, string])[] = [
    ['raw', 'raw', ''],
    ['qcow2', 'qcow2', ''],
    ['qcow2', 'qcow2', 'compat=0.10'],
    ['qcow2', 'qcow2', 'compression_type=zstd,extended_l2=on,lazy_refcounts=on'],
    ['qcow2', 'qcow2', 'cluster_size=512'],
    ['vmdk', 'vmdk', 'subformat=monolithicSparse'],
    ['vmdk', 'vmdk', 'subformat=streamOptimized'],
    ['vdi', 'vdi', ''],
    ['vhd', 'vpc', 'subformat=dynamic,force_size=on'],
    ['vhd', 'vpc', 'subformat=fixed,force_size=on'],
  ]
  test.each(formats)('%s (%s %s)', (declared, format, options) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-formats-'))
    try {
      const path = join(folder, 'disk')
      const more = options === '' ? [] : ['-o', options]
      execFileSync('qemu-img', ['create', '-q', '-f', format, ...more, path, '8M'])

      const virtualSizeBytes = inspect(declared, readFileSync(path))

      expect(virtualSizeBytes).toBe(8 * MIB)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('iso', () => {
    expect(inspect('iso', iso())).toBe(64 * 1024)
  })
})

describe('a QCOW2 that would open something else is refused', () => {
  const bad: readonly (readonly [string, Buffer, string])[] = [
    ['backing file', qcow2({ backingOffset: 512n, backingLength: 11 }), 'backing file'],
    ['backing file without a length', qcow2({ backingOffset: 512n }), 'backing file'],
    [
      'backing file, version 2',
      qcow2({ version: 2, backingOffset: 512n, backingLength: 11 }),
      'backing',
    ],
    [
      'backing format extension',
      qcow2({ extensions: [[0xe2792aca, Buffer.from('raw')]] }),
      'backing',
    ],
    ['data file bit', qcow2({ incompatible: 4n }), 'external data file'],
    [
      'data file extension',
      qcow2({ extensions: [[0x44415441, Buffer.from('/etc/passwd')]] }),
      'external data file',
    ],
    [
      'data file extension behind another',
      qcow2({
        extensions: [
          [0x6803f857, Buffer.alloc(48)],
          [0x44415441, Buffer.from('/etc/shadow')],
        ],
      }),
      'external data file',
    ],
    [
      'data file extension behind a longer header',
      qcow2({ headerBytes: 112, extensions: [[0x44415441, Buffer.from('x')]] }),
      'data file',
    ],
    ['unknown feature', qcow2({ incompatible: 1n << 40n }), 'unknown features'],
    ['encryption', qcow2({ encryption: 2 }), 'encrypted'],
    ['version', qcow2({ version: 4 }), 'version'],
    ['tiny clusters', qcow2({ clusterBits: 3 }), 'cluster size'],
    ['huge clusters', qcow2({ clusterBits: 63 }), 'cluster size'],
    ['header length', qcow2({ headerBytes: 8 }), 'header length'],
    ['cut short', qcow2().subarray(0, 40), 'cut short'],
    ['cut short after version 2', qcow2().subarray(0, 80), 'cut short'],
    ['absurd size', qcow2({ sizeBytes: 2n ** 63n }), 'virtual size'],
  ]
  test.each(bad)('%s', (_, content, reason) => {
    expect(() => inspect('qcow2', content)).toThrow(reason)
  })
})

describe('a VMDK that would open something else is refused', () => {
  const bad: readonly (readonly [string, Buffer])[] = [
    ['flat extent', vmdk(descriptorOf('monolithicFlat', 'RW 2048 FLAT "/etc/passwd" 0'))],
    [
      'flat extent called sparse',
      vmdk(descriptorOf('monolithicSparse', 'RW 2048 FLAT "/etc/passwd" 0')),
    ],
    [
      'second extent',
      vmdk(descriptorOf('monolithicSparse', `${SPARSE}\nRW 2048 FLAT "/etc/passwd" 0`)),
    ],
    ['parent', vmdk(descriptorOf('monolithicSparse', SPARSE, 'parentFileNameHint="/etc/passwd"'))],
    ['two types', vmdk(descriptorOf('monolithicSparse', SPARSE, 'createType="monolithicFlat"'))],
    ['no extent', vmdk(descriptorOf('monolithicSparse', ''))],
    ['no descriptor', vmdk('', 0n)],
    ['descriptor far away', vmdk(descriptorOf('monolithicSparse', SPARSE), 2n ** 50n)],
    [
      'descriptor alone',
      Buffer.from(descriptorOf('monolithicFlat', 'RW 2048 FLAT "/etc/passwd" 0')),
    ],
    ['version 3 of ESX', Buffer.concat([Buffer.from('COWD'), Buffer.alloc(4096)])],
  ]
  test.each(bad)('%s', (_, content) => {
    expect(() => inspect('vmdk', content)).toThrow('not an acceptable vmdk image')
  })
})

describe('content that is something else than declared is refused', () => {
  const bad: readonly (readonly [DiskFormat, string, Buffer])[] = [
    ['raw', 'qcow2', qcow2()],
    ['raw', 'qcow', Buffer.concat([Buffer.from('QFI\xfb\0\0\0\x01', 'latin1'), Buffer.alloc(512)])],
    ['raw', 'vmdk', vmdk(descriptorOf('monolithicSparse', SPARSE))],
    [
      'raw',
      'a VMDK descriptor',
      Buffer.from(descriptorOf('monolithicFlat', 'RW 1 FLAT "/etc/passwd" 0')),
    ],
    [
      'raw',
      'a VMDK descriptor without its title',
      Buffer.from('\n# x\nversion=1\ncreateType="monolithicFlat"\n'),
    ],
    ['raw', 'vdi', vdi(1)],
    ['raw', 'dynamic vhd', Buffer.concat([vhdFooter(3), Buffer.alloc(4096)])],
    ['raw', 'fixed vhd', Buffer.concat([Buffer.alloc(4096), vhdFooter(2)])],
    ['raw', 'vhdx', Buffer.concat([Buffer.from('vhdxfile'), Buffer.alloc(512)])],
    ['raw', 'qed', Buffer.concat([Buffer.from('QED\0'), Buffer.alloc(512)])],
    ['raw', 'luks', Buffer.concat([Buffer.from('LUKS\xba\xbe', 'latin1'), Buffer.alloc(512)])],
    ['raw', 'parallels', Buffer.concat([Buffer.from('WithoutFreeSpace'), Buffer.alloc(512)])],
    ['aki', 'qcow2', qcow2()],
    ['iso', 'zeroes', Buffer.alloc(64 * 1024)],
    [
      'iso',
      'an iso that begins as qcow2',
      Buffer.concat([qcow2().subarray(0, 0x8000), iso().subarray(0x8000)]),
    ],
    ['qcow2', 'zeroes', Buffer.alloc(64 * 1024)],
    ['qcow2', 'nothing', Buffer.alloc(0)],
    ['vdi', 'qcow2', qcow2()],
    ['vdi', 'a differencing vdi', vdi(4)],
    ['vhd', 'a differencing vhd', Buffer.concat([vhdFooter(4), Buffer.alloc(4096), vhdFooter(4)])],
    [
      'vhd',
      'a vhd whose copies differ',
      Buffer.concat([vhdFooter(3), Buffer.alloc(4096), vhdFooter(4)]),
    ],
    ['vmdk', 'qcow2', qcow2()],
  ]
  test.each(bad)('%s: %s', (declared, _, content) => {
    expect(() => inspect(declared, content)).toThrow('not an acceptable')
  })
})

test('raw bytes of any kind are raw', () => {
  expect(inspect('raw', Buffer.alloc(1000, 0xaa))).toBe(1000)
  expect(inspect('raw', Buffer.alloc(0))).toBe(0)
})
