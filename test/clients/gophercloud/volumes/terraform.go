package main

import (
	"os"

	"github.com/gophercloud/gophercloud/openstack/blockstorage/extensions/volumeactions"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/bootfromvolume"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/volumeattach"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
)

// asTerraform keeps resources as the provider for OpenStack does: it reads back what it has written, and what is there before it removes it.
func (cloud *Cloud) asTerraform() {
	server := os.Getenv("SERVER")
	made := cloud.create(volumes.CreateOpts{
		Name: "tf-volume", Size: 1, Description: "of a plan", Metadata: map[string]string{"a": "b"},
	})
	cloud.seen["made"] = []interface{}{made.Name, made.Size, made.Description, made.Metadata, made.Bootable}

	name, description := "tf-renamed", "of another plan"
	changes := volumes.UpdateOpts{Name: &name, Description: &description, Metadata: map[string]string{"c": "d"}}
	_, err := volumes.Update(cloud.storage, made.ID, changes).Extract()
	must(err)
	cloud.extend(made.ID, 2, "available")
	must(volumeactions.SetBootable(cloud.storage, made.ID, volumeactions.BootableOpts{Bootable: true}).ExtractErr())
	read := cloud.volume(made.ID)
	cloud.seen["changed"] = []interface{}{read.Name, read.Size, read.Description, read.Metadata, read.Bootable}

	attached := cloud.attach(server, made.ID)
	shown, err := volumeattach.Get(cloud.compute, server, attached.ID).Extract()
	must(err)
	cloud.seen["attached"] = *shown == *attached
	cloud.extend(made.ID, 3, "in-use")
	cloud.seen["in_use"] = statusOf(volumes.Delete(cloud.storage, made.ID, nil).Err)
	must(volumeattach.Delete(cloud.compute, server, attached.ID).ExtractErr())
	gone(func() error { return volumeattach.Get(cloud.compute, server, attached.ID).Err })
	cloud.until(made.ID, is("available"))

	kept := cloud.snapshot(snapshots.CreateOpts{VolumeID: made.ID, Name: "tf-snapshot", Metadata: map[string]string{"e": "f"}})
	cloud.seen["snapshots"] = cloud.snapshotsOf(snapshots.ListOpts{Name: "tf-snapshot", VolumeID: made.ID})
	cloud.seen["found"] = cloud.found(volumes.ListOpts{Name: name, Status: "available", Metadata: map[string]string{"c": "d"}})
	cloud.seen["types"] = cloud.types()
	cloud.bootOf(kept)

	// It removes a volume with what is kept of it where the plan says so.
	must(volumes.Delete(cloud.storage, made.ID, volumes.DeleteOpts{Cascade: true}).ExtractErr())
	gone(func() error { return volumes.Get(cloud.storage, made.ID).Err })
	gone(func() error { return snapshots.Get(cloud.storage, kept.ID).Err })
	cloud.seen["left"] = len(cloud.found(volumes.ListOpts{}))
}

func (cloud *Cloud) found(opts volumes.ListOpts) []string {
	page, err := volumes.List(cloud.storage, opts).AllPages()
	must(err)
	all, err := volumes.ExtractVolumes(page)
	must(err)
	names := []string{}
	for _, each := range all {
		names = append(names, each.Name)
	}
	return names
}

func (cloud *Cloud) types() []string {
	page, err := volumetypes.List(cloud.storage, volumetypes.ListOpts{}).AllPages()
	must(err)
	all, err := volumetypes.ExtractVolumeTypes(page)
	must(err)
	names := []string{}
	for _, each := range all {
		names = append(names, each.Name)
	}
	return names
}

// bootOf boots a server from a volume of an image, with one of the snapshot and an empty one, which go with it.
func (cloud *Cloud) bootOf(kept *snapshots.Snapshot) {
	image := os.Getenv("IMAGE")
	made, err := bootfromvolume.Create(cloud.compute, bootfromvolume.CreateOptsExt{
		CreateOptsBuilder: servers.CreateOpts{
			Name:      "tf-server",
			FlavorRef: os.Getenv("FLAVOR"),
			Networks:  []servers.Network{{UUID: os.Getenv("NETWORK")}},
		},
		BlockDevice: []bootfromvolume.BlockDevice{
			{UUID: image, SourceType: "image", DestinationType: "volume", VolumeSize: 1, BootIndex: 0, DeleteOnTermination: true},
			{UUID: kept.ID, SourceType: "snapshot", DestinationType: "volume", VolumeSize: 3, BootIndex: 1, DeleteOnTermination: true},
			{SourceType: "blank", DestinationType: "volume", VolumeSize: 1, BootIndex: -1, DeleteOnTermination: true},
		},
	}).Extract()
	must(err)
	must(servers.WaitForStatus(cloud.compute, made.ID, "ACTIVE", limitSeconds))
	page, err := volumeattach.List(cloud.compute, made.ID).AllPages()
	must(err)
	all, err := volumeattach.ExtractVolumeAttachments(page)
	must(err)
	cloud.seen["booted"] = len(all)
	must(servers.Delete(cloud.compute, made.ID).ExtractErr())
	gone(func() error { return servers.Get(cloud.compute, made.ID).Err })
	for _, each := range all {
		id := each.VolumeID
		gone(func() error { return volumes.Get(cloud.storage, id).Err })
	}
}
