import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The state of a socket that takes connections, in proc(5) `/proc/net/tcp`. */
const LISTENING = '0A'

/** True while this process itself takes TCP connections at the port; false for one that ended, was never started or is another user's. */
export function listensOn(pid: number | undefined, port: number): boolean {
  if (pid === undefined) return false
  try {
    const sockets = new Set(
      ['tcp', 'tcp6'].flatMap((table) => listeners(`/proc/${pid}/net/${table}`, port)),
    )
    return readdirSync(`/proc/${pid}/fd`).some((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`)))
  } catch {
    return false
  }
}

/** Sockets that listen at the port, as `/proc/PID/fd` names them. */
function listeners(table: string, port: number): readonly string[] {
  const [, ...lines] = readFileSync(table, 'utf8').trimEnd().split('\n')
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/ +/)
    const isWanted = state === LISTENING && Number.parseInt(local.split(':')[1] ?? '', 16) === port
    return isWanted ? [`socket:[${inode}]`] : []
  })
}

/** Empty for one that was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
