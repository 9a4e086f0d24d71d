import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunningLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import { run } from '#drivers/run.ts'

const COMMAND_MS = 20_000
const SETTINGS = 'listen_tls = 0\nlisten_tcp = 1\nauth_tcp = "none"\n'

/** Afterwards the two hosts have a line of their own between their namespaces, on which their daemons listen; returned are their addresses. */
export async function linkHosts(
  one: RunningLibvirtHost,
  two: RunningLibvirtHost,
): Promise<readonly [string, string]> {
  const addresses = ['10.77.0.1', '10.77.0.2'] as const
  const ipIn = ({ holder }: RunningLibvirtHost, ...args: readonly string[]) =>
    run('nsenter', ['--target', String(holder.pid), '--net', 'ip', ...args], {
      timeoutMs: COMMAND_MS,
    })
  await ipIn(one, 'link', 'add', 'line', 'type', 'veth', 'peer', 'name', 'other')
  await ipIn(one, 'link', 'set', 'other', 'netns', String(two.holder.pid), 'name', 'line')
  for (const [index, host] of [one, two].entries()) {
    await ipIn(host, 'address', 'add', `${addresses[index]}/24`, 'dev', 'line')
    await ipIn(host, 'link', 'set', 'line', 'up')
    await listen(host)
  }
  return addresses
}

async function listen(host: RunningLibvirtHost): Promise<void> {
  await appendFile(join(host.socketPath, '../../etc/libvirtd.conf'), SETTINGS)
  await host.stopDaemon()
  const pidFile = '/run/libvirt/libvirtd.pid'
  const options = { timeoutMs: COMMAND_MS }
  await host.run('libvirtd', ['--daemon', '--listen', '--pid-file', pidFile], options)
}
