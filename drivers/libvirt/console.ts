import { Failure } from '#common/errors.ts'
import type { Console } from '../consoles.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { openSerialConsole } from './rpc/serial-console.ts'
import { openScreen } from './screen.ts'

/** The serial port through the daemon, the screen through the socket that QEMU serves on. */
export function libvirtConsole(host: LibvirtHost): Console {
  return {
    async open(id, kind, signal) {
      const domain = await getOwnDomain(host.domains, host.owner, id, signal)
      const state = powerStateOf(await host.domains.state(domain, signal))
      if (state !== 'running' && state !== 'paused')
        throw new Failure('conflict', `Instance ${id} is not running.`)
      if (kind === 'serial') return openSerialConsole(host.address, domain, signal)
      return openScreen(filesOf(host, id).vncSocket, signal)
    },
  }
}
