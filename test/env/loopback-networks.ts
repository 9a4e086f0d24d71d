import { createServer, type Server, type Socket } from 'node:net'
import type { NetworkId } from '#common/ids.ts'
import type { GuestMetadata } from '#drivers/guest-metadata.ts'

/** A listener on the loopback device for each network, in place of the host's switch. */
export class LoopbackNetworks implements GuestMetadata {
  readonly listening = new Map<NetworkId, Server>()

  open(onConnection: (connection: Socket, networkId: NetworkId) => void) {
    return {
      serve: async (wanted: ReadonlySet<NetworkId>) => {
        for (const id of wanted) {
          if (this.listening.has(id)) continue
          const server = createServer((connection) => onConnection(connection, id))
          await new Promise<void>((resolve) => {
            server.listen(0, '127.0.0.1', resolve)
          })
          this.listening.set(id, server)
        }
        for (const [id, server] of this.listening) {
          if (wanted.has(id)) continue
          server.close()
          this.listening.delete(id)
        }
      },
      [Symbol.asyncDispose]: async () => {
        for (const server of this.listening.values()) server.close()
      },
    }
  }

  /** 0: the network is not served. */
  port(id: NetworkId): number {
    const address = this.listening.get(id)?.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }
}
