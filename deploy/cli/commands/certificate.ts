import type { Command } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { say } from '../say.ts'
import { type FolderFlags, foldersOf, withFolders } from './control-plane.ts'

const PAGE = 'docs/how-to/production.md#replace-the-certificate'
const RELOAD = 'systemctl reload weir-mariadb weir-nats weir-haproxy'

/** The commands that replace the certificate of a control plane's machines, while they serve. */
export function addCertificateCommands(program: Command): void {
  const certificate = program
    .command('certificate')
    .description('Replace the certificate of the machines of a control plane')
  withFolders(
    withExamples(certificate.command('create'), './weir certificate create').description(
      'Create a certificate that is to replace the present one, with its key, for all machines; nothing uses it yet',
    ),
  ).action(async (flags: FolderFlags) => {
    const { createCertificate } = await import('../../control-plane/certificate.ts')
    const file = await createCertificate(foldersOf(flags))
    say(`made  ${file} and its key. Copy both to the other machines.`)
    say(`Then, on each machine: ./weir certificate trust (${PAGE})`)
  })
  withFolders(
    withExamples(certificate.command('trust'), './weir certificate trust').description(
      'Have the services of this machine trust next.crt besides the present certificate, once they read it again',
    ),
  ).action(async (flags: FolderFlags) => {
    const { trustCertificate } = await import('../../control-plane/certificate.ts')
    trustCertificate(foldersOf(flags))
    say(`The next certificate is trusted once you run: ${RELOAD}`)
    say(`After all machines, clients, cells and hosts: ./weir certificate use (${PAGE})`)
  })
  withFolders(
    withExamples(certificate.command('use'), './weir certificate use').description(
      'Make next.crt and next.key the certificate of this machine; the former one is still trusted',
    ),
  ).action(async (flags: FolderFlags) => {
    const { useCertificate } = await import('../../control-plane/certificate.ts')
    useCertificate(foldersOf(flags))
    say(`It is served once you run: ${RELOAD}`)
    say(`After all machines: ./weir certificate forget (${PAGE})`)
  })
  withFolders(
    withExamples(certificate.command('forget'), './weir certificate forget').description(
      'Remove the former certificates of this machine, so that its services no longer trust them',
    ),
  ).action(async (flags: FolderFlags) => {
    const { forgetCertificates } = await import('../../control-plane/certificate.ts')
    const removed = forgetCertificates(foldersOf(flags))
    say(
      removed === 0
        ? 'There is no former certificate.'
        : `The former certificate is trusted no more once you run: ${RELOAD}`,
    )
  })
}
