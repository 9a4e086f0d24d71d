import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodePacket, type Packet, PacketFramer } from './packet.ts'
import { uuidBytes } from './uuid-bytes.ts'
import { XdrReader } from './xdr-reader.ts'
import { XdrWriter } from './xdr-writer.ts'

describe('XDR', () => {
  test('values are read back as written, padded to four bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: -1, max: 9e8 }), (text, id) => {
        const name = text.toWellFormed()
        const uuid = Buffer.alloc(16, 7)
        const bytes = new XdrWriter()
          .optionalText(null)
          .domain({ name, uuid, id })
          .uint(0xffff_ffff)
          .bytes()
        const reader = new XdrReader(bytes)

        expect(bytes.length % 4).toBe(0)
        expect(reader.optionalText()).toBeNull()
        expect(reader.domain()).toEqual({ name, uuid, id })
        expect(reader.uint()).toBe(0xffff_ffff)
      }),
    )
  })

  test('a length beyond the received bytes is an error, and reserves no memory', () => {
    const short = new XdrReader(new XdrWriter().uint(0x7fff_ffff).bytes())
    expect(() => short.text()).toThrow(RangeError)

    const long = new XdrReader(new XdrWriter().uint(1_000_000).bytes())
    expect(() => long.list((reader) => reader.int())).toThrow(RangeError)
  })

  test('a count above 2^53 is an error, or the nearest number where that will do', () => {
    const large = Buffer.from('0020000000000001', 'hex')

    expect(() => new XdrReader(large).ulong()).toThrow('too large')
    expect(new XdrReader(large).roundedUlong()).toBe(2 ** 53)
    expect(new XdrReader(Buffer.from('001fffffffffffff', 'hex')).ulong()).toBe(2 ** 53 - 1)
  })

  test('a uuid travels as its sixteen bytes', () => {
    const uuid = '0198f6aa-1111-7222-8333-444455556666'
    expect(Buffer.from(uuidBytes(uuid)).toString('hex')).toBe(uuid.replaceAll('-', ''))
    expect(() => uuidBytes('not-a-uuid')).toThrow('not a UUID')
  })
})

describe('PacketFramer', () => {
  const packet = (serial: number, size: number): Packet => ({
    program: 1,
    procedure: 2,
    type: 0,
    serial,
    status: 0,
    body: Buffer.alloc(size, serial),
  })

  test('packets come out whole however the stream was cut', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 64 }), (bodySizes, cut) => {
        const packets = bodySizes.map((size, index) => packet(index, size))
        const stream = Buffer.concat(packets.map(encodePacket))
        const framer = new PacketFramer()
        const chunks = Array.from({ length: Math.ceil(stream.length / cut) }, (_, index) =>
          stream.subarray(index * cut, (index + 1) * cut),
        )

        expect(chunks.flatMap((chunk) => framer.push(chunk))).toEqual(packets)
      }),
    )
  })
})
