import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool } from '#deploy/packages/run-tool.ts'
import { compiledDirectory } from '#deploy/paths.ts'
import { processTree } from '#deploy/process/process-tree.ts'

const LIMIT_MS = 600_000
const RELEASE = 'bookworm'
const SYSTEMD = '/lib/systemd/systemd'

/** What Weir's package depends on and a bare Debian has not, and the systemd that it recommends. */
export const PACKAGE_NEEDS = ['adduser', 'libstdc++6', 'openssl', 'systemd', 'systemd-sysv']

/**
 * A Debian of its own in a folder, with the packages that were named and what those need. What it runs has namespaces of
 * its own, but for the network. Disposing ends that and leaves nothing.
 */
export class BareDebian implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'weir-debian-'))
  #init: ReturnType<typeof spawn> | undefined

  /** The root is fetched once for these packages. */
  static async with(packages: readonly string[]): Promise<BareDebian> {
    const archive = join(compiledDirectory, 'bare-debian', `${packages.join('+')}.tar`)
    if (!existsSync(archive)) await fetchRoot(packages, archive)
    const debian = new BareDebian()
    await runTool('tar', ['-xpf', archive, '-C', debian.root], { limitMs: LIMIT_MS })
    return debian
  }

  /** True where tests may make the namespaces that it needs, and fetch it. */
  static canRun(): boolean {
    if (process.getuid?.() !== 0) return false
    if (spawnSync('mmdebstrap', ['--version'], { stdio: 'ignore' }).status !== 0) return false
    const own = ['--pid', '--mount', '--cgroup', '--fork', '--mount-proc']
    const mount = 'mount --make-rprivate / && mount -t cgroup2 cgroup2 /mnt'
    return spawnSync('unshare', [...own, 'sh', '-c', mount], { stdio: 'ignore' }).status === 0
  }

  path(inside: string): string {
    return join(this.root, inside)
  }

  /** Runs a command in it, where nothing is mounted. */
  run(...command: readonly string[]): Promise<string> {
    return runTool('chroot', [this.root, ...command], { limitMs: LIMIT_MS })
  }

  /** The id of a user or group there. */
  idOf(name: string, file: 'passwd' | 'group'): number {
    const lines = readFileSync(this.path(`etc/${file}`), 'utf8').split('\n')
    const [, , id] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (id === undefined) throw new Error(`There is no ${name} in ${file}`)
    return Number(id)
  }

  /** Starts its systemd. */
  async boot(): Promise<void> {
    const own = ['--pid', '--mount', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child']
    const env = { PATH: process.env['PATH'], container: 'lxc', ROOT: this.root }
    this.#init = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', 'unshare', ...own, 'sh', '-c', INIT],
      { stdio: 'ignore', env },
    )
    await once(this.#init, 'spawn')
  }

  /** Runs a command beside its systemd. */
  runBooted(...command: readonly string[]): Promise<string> {
    const systemd = processTree(this.#init?.pid ?? 0).find(({ pid }) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return words.startsWith(SYSTEMD)
    })
    if (systemd === undefined) throw new Error('Its systemd does not run')
    const own = ['--target', String(systemd.pid), '--mount', '--pid', '--uts', '--ipc', '--cgroup']
    return runTool('nsenter', [...own, '--root', '--wd=/', ...command], { limitMs: LIMIT_MS })
  }

  /** The end of what its services wrote. */
  async journal(): Promise<string> {
    const args = ['-D', this.path('var/log/journal'), '-n', '200', '--no-pager', '-o', 'cat']
    return runTool('journalctl', args, { limitMs: LIMIT_MS })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#init?.exitCode === null) {
      this.#init.kill('SIGKILL')
      await once(this.#init, 'exit')
    }
    rmSync(this.root, { recursive: true, force: true })
  }
}

async function fetchRoot(packages: readonly string[], archive: string): Promise<void> {
  mkdirSync(join(archive, '..'), { recursive: true })
  const part = `${archive}.part.tar`
  const args = ['--quiet', '--mode=root', '--variant=apt', `--include=${packages.join(',')}`]
  await runTool('mmdebstrap', [...args, RELEASE, part], { limitMs: LIMIT_MS })
  renameSync(part, archive)
}

/** The kernel's settings and devices stay the machine's: what would change them finds them missing or read-only. */
const INIT = `set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
cd "$ROOT"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for folder in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs $folder; done
chmod 1777 tmp
for device in null zero full random urandom tty; do
  touch dev/$device
  mount --bind /dev/$device dev/$device
done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,mode=620,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mkdir -p var/log/journal former
pivot_root . former
umount -l /former
exec ${SYSTEMD} --system --unit=multi-user.target --show-status=no
`
