import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import { abortable } from '../abortable.ts'
import type { Console } from '../driver.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { openSerialConsole } from './rpc/serial-console.ts'

/** The serial port through the daemon, the screen through the socket that QEMU serves on. */
export function libvirtConsole(host: LibvirtHost): Console {
  return {
    async open(id, kind, signal) {
      const domain = await getOwnDomain(host.domains, host.owner, id, signal)
      const state = powerStateOf(await host.domains.state(domain, signal))
      if (state !== 'running' && state !== 'paused')
        throw new Failure('conflict', `Instance ${id} is not running.`)
      if (kind === 'serial') return openSerialConsole(host.address, domain, signal)
      return dial(filesOf(host, id).vncSocket, signal)
    },
  }
}

async function dial(path: string, signal: AbortSignal): Promise<Duplex> {
  const socket = connect({ path })
  try {
    const connected = new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
    })
    await abortable(connected, signal)
    return socket
  } catch (cause) {
    socket.destroy()
    signal.throwIfAborted()
    throw new Failure('unsupported', 'The instance has no screen that can be reached.', { cause })
  }
}
