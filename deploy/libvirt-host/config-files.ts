import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The directories in which the packages keep libvirt's files, and the host's own folders that replace them. */
export const FOLDERS: Readonly<Record<string, string>> = {
  run: '/run/libvirt',
  // libvirt locks an open console in this folder, which only systemd would make otherwise.
  lock: '/run/lock',
  lib: '/var/lib/libvirt',
  etc: '/etc/libvirt',
  cache: '/var/cache/libvirt',
  log: '/var/log/libvirt',
}

/** The same for single files: the machine's accounts, and one more, and how names are looked up. */
export const FILES: Readonly<Record<string, string>> = {
  passwd: '/etc/passwd',
  group: '/etc/group',
  hosts: '/etc/hosts',
  'resolv.conf': '/etc/resolv.conf',
}

/**
 * Debian's libvirtd does not start without this account, even if guests run as another. Only the package with the
 * machine-wide daemon creates it, so a host has it in account files of its own.
 */
const QEMU_ACCOUNT: Readonly<Record<string, string>> = {
  passwd: 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin',
  group: 'libvirt-qemu:x:64055:',
}

/**
 * Guests run as root of the host's namespaces: their disks are in folders that libvirt's own user may not enter, and
 * the machine has no security driver or control group for them.
 */
const QEMU_CONF = `user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
namespaces = []
cgroup_controllers = []
`

/** Afterwards the host's folders and its daemons' settings are in place; what libvirt stored in them is kept. */
export async function writeConfigFiles(
  directory: string,
  { name: hostname, uuid }: { readonly name: string; readonly uuid: string },
): Promise<void> {
  for (const name of Object.keys(FOLDERS)) {
    await mkdir(join(directory, name), { recursive: true, mode: 0o711 })
  }
  for (const [name, account] of Object.entries(QEMU_ACCOUNT)) {
    const machine = await readFile(FILES[name]!, 'utf8')
    const isThere = /^libvirt-qemu:/m.test(machine)
    await writeFile(join(directory, name), isThere ? machine : `${machine}${account}\n`)
  }
  const addresses = `127.0.0.1 localhost\n::1 localhost\n127.0.1.1 ${hostname}\n`
  await writeFile(join(directory, 'hosts'), addresses)
  // libvirtd looks its own name up at each step of a migration, and no name server is reached from here.
  await writeFile(join(directory, 'resolv.conf'), '')
  const etc = join(directory, 'etc')
  // The package's own networks and filters; a host has only what its driver defines.
  await cp('/etc/libvirt/nwfilter', join(etc, 'nwfilter'), { recursive: true }).catch(() => {})
  await writeFile(join(etc, 'qemu.conf'), QEMU_CONF)
  await writeFile(
    join(etc, 'libvirtd.conf'),
    [
      'auth_unix_ro = "none"',
      'auth_unix_rw = "none"',
      'unix_sock_rw_perms = "0700"',
      'unix_sock_ro_perms = "0700"',
      `host_uuid = "${uuid}"`,
      'log_outputs = "3:file:/var/log/libvirt/libvirtd.log"',
      '',
    ].join('\n'),
  )
}

/** Sockets, pid and lock files of daemons that are gone: leaving them would make new ones believe in old guests. */
export async function clearRunFolders(directory: string): Promise<void> {
  for (const name of ['run', 'lock']) {
    await rm(join(directory, name), { recursive: true, force: true })
    await mkdir(join(directory, name), { recursive: true, mode: 0o711 })
  }
}
