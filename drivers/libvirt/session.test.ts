import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { errorChain } from '#common/errors.ts'
import { encodePacket, PacketFramer, PROGRAMS } from './rpc/packet.ts'
import { PROCEDURES } from './rpc/procedures.ts'
import { XdrWriter } from './rpc/xdr-writer.ts'
import { LibvirtSession } from './session.ts'

const AUTH_POLKIT = 2
const REPLY = 1

test('a daemon that requires authentication is unavailable, with this reason', async () => {
  const daemon = createServer((socket) => {
    const framer = new PacketFramer()
    const body = new XdrWriter().uint(1).int(AUTH_POLKIT).bytes()
    const { remote: program } = PROGRAMS
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      for (const { procedure, serial } of framer.push(chunk))
        socket.write(encodePacket({ program, procedure, type: REPLY, serial, status: 0, body }))
    })
  }).listen(0, '127.0.0.1')
  await once(daemon, 'listening')
  const { port } = daemon.address() as AddressInfo
  const dial = { host: '127.0.0.1', port }
  await using session = new LibvirtSession({ dial, driverUri: 'qemu:///system', local: false })

  const refused = session.call(
    PROCEDURES.connectGetHostname,
    new XdrWriter(),
    AbortSignal.timeout(5_000),
  )

  const why = await refused.catch((error: unknown) => errorChain(error))
  expect(why).toMatch(/not reachable.*authentication.*auth types 2; set auth_unix_rw/)
  daemon.close()
})
