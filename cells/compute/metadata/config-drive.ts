import type { InstanceId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { ec2Metadata } from './ec2-metadata.ts'
import { openstackFiles, type TaggedDisk } from './openstack-files.ts'

/** The dated folder is the newest that Nova writes; cloud-init reads the newest that it knows, else `latest`. */
const FOLDERS = ['latest', '2018-08-27']
/** Of Amazon's format, as Nova's `config_drive_skip_versions` leaves them. */
const EC2_FOLDERS = ['latest', '2009-04-04']

/** Path inside the drive -> content, in the layouts of OpenStack and Amazon (nova: user/metadata). */
export function configDriveFiles(
  id: InstanceId,
  build: InstanceBuild,
): Readonly<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {}
  for (const [index, { contents }] of (build.files ?? []).entries())
    files[`openstack${contentPath(index)}`] = Buffer.from(contents, 'base64')
  for (const folder of FOLDERS)
    for (const [name, content] of Object.entries(
      openstackFiles(id, build, { ofDrive: ofDrive(build), disks: taggedDisks(build) }),
    ))
      files[`openstack/${folder}/${name}`] = content
  const ec2Build = { ...build, imageId: build.image.id }
  const ec2 = ec2Metadata(id, ec2Build, { securityGroups: [], publicIpv4: null })
  for (const folder of EC2_FOLDERS) {
    files[`ec2/${folder}/meta-data.json`] = Buffer.from(JSON.stringify(ec2))
    if (build.userData !== null)
      files[`ec2/${folder}/user-data`] = Buffer.from(build.userData, 'base64')
  }
  return files
}

function taggedDisks({ volumes = [] }: InstanceBuild): readonly TaggedDisk[] {
  return volumes.flatMap(({ id: attachmentId, volumeId: serial, tag }) =>
    tag === undefined ? [] : [{ attachmentId, serial, tag }],
  )
}

/** What the metadata service does not tell, because it could be asked for at any time. */
function ofDrive({ adminPassword, files }: InstanceBuild): object {
  return {
    ...(adminPassword !== null && { admin_pass: adminPassword }),
    ...(files !== undefined && {
      files: files.map(({ path }, index) => ({ content_path: contentPath(index), path })),
    }),
  }
}

/** Of a file that the user sent, below `openstack` on the drive (nova/api/metadata/base.py). */
function contentPath(index: number): string {
  return `/content/${String(index).padStart(4, '0')}`
}
