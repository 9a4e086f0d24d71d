import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Each is a file, which is there while the machine is on. */
export class FileMachines implements Disposable {
  /** Of a cell whose fence devices switch them. */
  readonly settings: Readonly<Record<string, string>>
  readonly #folder = mkdtempSync(join(tmpdir(), 'weir-machines-'))

  /** One for each of these hosts, switched on. */
  constructor(hosts: readonly string[]) {
    const folder = this.#folder
    const recorded = new URL('../../drivers/fence-agents/testing/fence_virsh.xml', import.meta.url)
    cpSync(recorded, join(folder, 'fence_virsh.xml'))
    writeFileSync(join(folder, 'fence_file'), agentIn(folder), { mode: 0o755 })
    const password_file = join(folder, 'password')
    writeFileSync(password_file, 'secret')
    const devices = hosts.map((plug) => {
      const parameters = { ip: '192.0.2.3', username: 'root', plug }
      return [plug, { agent: 'fence_file', parameters, password_file }] as const
    })
    const file = join(folder, 'devices.json')
    writeFileSync(file, JSON.stringify(Object.fromEntries(devices)))
    this.settings = { CELL_FENCE_DEVICES_FILE: file, CELL_FENCE_AGENTS_DIRECTORY: folder }
    for (const host of hosts) this.switchOn(host)
  }

  isOn(host: string): boolean {
    return existsSync(this.#fileOf(host))
  }

  switchOn(host: string): void {
    writeFileSync(this.#fileOf(host), '')
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #fileOf(host: string): string {
    return join(this.#folder, `power-${host}`)
  }
}

/** A fence agent, in Debian's form, whose machines are files. */
function agentIn(folder: string): string {
  return `#!/bin/sh
cd '${folder}' || exit 1
asked=$(cat)
of() { printf '%s\\n' "$asked" | sed -n "s/^$1=//p"; }
power=power-$(of plug)
case $(of action) in
  metadata) cat fence_virsh.xml ;;
  validate-all) [ "$(of password)" = secret ] ;;
  status) if [ -e "$power" ]; then echo Status: ON; else echo Status: OFF; exit 2; fi ;;
  off) rm -f "$power" ;;
esac
`
}
