import { appendFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RunningLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import { programPath } from '#deploy/process/find-program.ts'
import { run } from '#drivers/run.ts'

const COMMAND_MS = 20_000
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
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
  // The daemon plugs guests into Open vSwitch with its tools, which may be unpacked beside the checkout.
  const tools = dirname(programPath('ovs-vsctl') ?? '/usr/bin/ovs-vsctl')
  const env = { PATH: `${PATH}:${tools}`, LC_ALL: 'C' }
  const options = { timeoutMs: COMMAND_MS, env }
  await host.run('libvirtd', ['--daemon', '--listen', '--pid-file', pidFile], options)
}
