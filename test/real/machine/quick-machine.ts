import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { appendFile, open, stat, truncate } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'

/**
 * What a driver can tell of a machine, without an emulated CPU: asks for its boot script as iPXE does, does the tasks
 * of the ramdisk on `disk.img`, and answers on its serial port what was typed when the disk's boot sector is one.
 */

const [from] = process.argv.slice(2)
const { BOOT_URL = '', MAC = '', SERIAL_PORT = '' } = process.env
const DISK = 'disk.img'
const MEMORY_KIB = 131_072

let terminal: Socket | undefined
createServer((socket) => {
  terminal = socket.on('error', () => {}).on('data', (typed) => send(typed.toString('latin1')))
}).listen(Number(SERIAL_PORT), '127.0.0.1')

const script = from === 'n' ? await text(`${BOOT_URL}/boot.ipxe?mac=${MAC}`) : ''
const parameter = (name: string) => new RegExp(`weir\\.${name}=(\\S+)`).exec(script)?.[1]
const [task, url] = [parameter('task'), parameter('url')]
if (task !== undefined && url !== undefined) await perform(task, url)
else if (await isBootable()) send('READY\r\n')

function send(what: string): void {
  terminal?.write(what, 'latin1')
  void appendFile('console.log', what)
}

async function perform(name: string, taskUrl: string): Promise<void> {
  const report = async (end: string, body: string) => {
    await fetch(`${taskUrl}/${end}`, { method: 'POST', body })
  }
  if (name === 'write') return report('done', await write(taskUrl))
  if (name === 'inspect') return report('done', await inspect())
  if (name !== 'clean') return report('failed', `no task ${name} is known`)
  const { size } = await stat(DISK)
  for (const length of [0, size]) await truncate(DISK, length)
  await report('done', '')
}

async function write(taskUrl: string): Promise<string> {
  const hashes = [await written(`${taskUrl}/image`, 0)]
  const patches = parameter('patches')?.split(',') ?? []
  for (const [nth, patch] of patches.entries())
    hashes.push(await written(`${taskUrl}/patches/${nth}`, Number(patch.split(':')[0])))
  return hashes.join('\n')
}

/** The hash of the contents of the disk afterwards. */
async function written(url: string, start: number): Promise<string> {
  const content = Buffer.from(await (await fetch(url)).arrayBuffer())
  await put(content, start)
  const hash = createHash('sha256')
  const end = start + content.length - 1
  for await (const chunk of createReadStream(DISK, { start, end })) hash.update(chunk)
  return hash.digest('hex')
}

async function inspect(): Promise<string> {
  const { size } = await stat(DISK)
  const parts = ['cpus 1', 'cpu-model quick', 'architecture x86_64', `memory-kib ${MEMORY_KIB}`]
  return [...parts, `disk vda ${size}`, `mac ${MAC}`].join('\n')
}

/** Over a part of the disk, as a machine does: its size stays. */
async function put(content: Buffer, at: number): Promise<void> {
  await using disk = await open(DISK, 'r+')
  await disk.write(content, 0, content.length, at)
  await disk.sync()
}

async function isBootable(): Promise<boolean> {
  await using disk = await open(DISK)
  const { buffer } = await disk.read(Buffer.alloc(512), 0, 512, 0)
  return buffer.readUInt16LE(510) === 0xaa55
}

async function text(address: string): Promise<string> {
  return (await fetch(address)).text()
}
