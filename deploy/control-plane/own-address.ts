import { once } from 'node:events'
import { createServer } from 'node:net'
import { Failure } from '#common/errors.ts'

/** Throws `invalid` for an address that nothing on this machine can listen at. */
export async function assertOwnAddress(address: string): Promise<void> {
  const server = createServer()
  try {
    server.listen(0, address)
    await once(server, 'listening')
  } catch (cause) {
    throw new Failure('invalid', `${address} is not an address of this machine.`, { cause })
  } finally {
    server.close()
  }
}
