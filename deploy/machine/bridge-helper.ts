import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Debian's, of qemu-system-common. */
const QEMUS_OWN = '/usr/lib/qemu/qemu-bridge-helper'
const FILE = 'bridge-helper'

/** Arguments for QEMU, started in a folder with a bridge helper: it has a NIC on this bridge, and does not boot by it. */
export function bridgeNic(bridge: string, macAddress: string): readonly string[] {
  return [
    ...['-netdev', `bridge,id=site,br=${bridge},helper=./${FILE}`, '-device'],
    // Switches in a process drop packets whose checksums are left to a network card.
    `virtio-net-pci,netdev=site,mac=${macAddress},csum=off,gso=off,guest_csum=off,romfile=`,
  ]
}

/**
 * Afterwards QEMU, started in this folder, finds bridges in the network namespace of this process. The program that makes
 * the other end of its NIC allows a bridge only if a file in /etc/qemu says so, so it gets an /etc of its own.
 */
export async function writeBridgeHelper(directory: string, holderPid: number): Promise<void> {
  const allow =
    'mount -t tmpfs tmpfs /etc && mkdir /etc/qemu && echo allow all >/etc/qemu/bridge.conf'
  const enter = `nsenter --net=/proc/${holderPid}/ns/net unshare --mount --propagation private`
  const script = `exec ${enter} sh -c '${allow} && exec ${QEMUS_OWN} "$@"' sh "$@"`
  const path = join(directory, FILE)
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o700)
}
